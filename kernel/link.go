package kernel

import "net"

// Link is an interface as the kernel describes it.
type Link struct {
	Index   int
	Name    string
	Kind    string // "veth"; "" for a physical device and for lo
	MAC     net.HardwareAddr
	PermMAC net.HardwareAddr // burnt in; nil where there is none
	MTU     int              // bytes
	TxQLen  int              // packets

	Up        bool // asked for
	Running   bool // has a carrier
	Loopback  bool
	Broadcast bool
	NoARP     bool
	Promisc   bool // by IFF_PROMISC; see Promiscuity for what others asked for
	AllMulti  bool
	OperState OperState

	Promiscuity   int // how many want it promiscuous
	Alias         string
	AltNames      []string
	Group         uint32 // IFLA_GROUP: a number that rules can ask for; 0 where none was given
	Master        int    // index of the bridge, bond or VRF that it is a member of
	MasterKind    string // kind of that, for a member: "bridge"
	Parent        int    // IFLA_LINK: lower device, or a veth's peer; in the namespace ParentNetnsID if that is set
	ParentNetnsID *int   // nil: the same namespace
	NumTxQueues   int
	NumRxQueues   int
	GSOMaxSize    int
	GROMaxSize    int
	ParentDev     string // "0000:03:00.0": the device of which it is a port
	ParentDevBus  string // "pci"

	AddrGenMode AddrGenMode // of IPv6 link-local addresses
	HasIPv6     bool        // the link takes IPv6 at all

	Port BridgePort // of a member of a bridge; fields are nil otherwise
	Info LinkKind   // by kind, what was set at creation: *VLANKind…; nil for kinds not known here
}

// OperState is RFC 2863's state of a link.
type OperState uint8

// The states of a link.
const (
	OperUnknown OperState = iota
	OperNotPresent
	OperDown
	OperLowerLayerDown
	OperTesting
	OperDormant
	OperUp
)

// AddrGenMode is how a link gets its IPv6 link-local address.
type AddrGenMode uint8

// The ways to make link-local addresses.
const (
	AddrGenEUI64 AddrGenMode = iota
	AddrGenNone
	AddrGenStablePrivacy
	AddrGenRandom
)

// LinkKind is a kind of link, with what is said at its creation.
type LinkKind interface {
	// Kind is the kernel's name of the kind.
	Kind() string
	// encode appends what goes into IFLA_INFO_DATA.
	encode(e *encoder) error
}

// LinkSpec is a link to be made. What is left zero is the kernel's choice.
type LinkSpec struct {
	Name   string
	Kind   LinkKind
	Index  int
	MTU    int // bytes
	TxQLen *int
	MAC    net.HardwareAddr
	Group  uint32
	Master int
	Parent int // index of the lower device
	// ParentNetns is where Parent is; nil: where the call is made.
	ParentNetns *Namespace
	// Via is a name that is free in both namespaces. Kernels before about 6.15
	// make a link that has ParentNetns there first, where its own name may be
	// taken: then it is made by this one, and renamed. "": that is an error.
	Via string
	// Netns is where the link is to be; nil: where the call is made.
	Netns       *Namespace
	Up          bool // not possible for a veth's peer
	NumTxQueues int
	NumRxQueues int
}

// LinkChange is what is to change of a link; nil is left as it is.
type LinkChange struct {
	Name     *string // before Linux 6.2 only of a link that is down
	Up       *bool
	MTU      *int
	MAC      net.HardwareAddr
	Alias    *string // "" takes it away
	Group    *uint32
	Master   *int // 0 takes it out
	TxQLen   *int
	Promisc  *bool
	AllMulti *bool
	ARP      *bool
	Netns    *Namespace // moves it there
	Index    *int       // wanted index in Netns
	// AddrGenMode comes too late for the first address of a link that Up, in the
	// same change, brings up.
	AddrGenMode *AddrGenMode
	Port        *BridgePort // of a link that is a member of a bridge already
	Info        LinkKind    // what the kind lets one change later
}
