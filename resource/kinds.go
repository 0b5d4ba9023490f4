package resource

// Kinds is what the journal's codec needs of this room: a way to an empty
// resource of each kind.
func Kinds() map[string]func() Resource {
	all := map[string]func() Resource{}
	for _, blank := range []func() Resource{
		func() Resource { return &Address{} },
		func() Resource { return &Announce{} },
		func() Resource { return &Bridge{} },
		func() Resource { return &BridgeAddress{} },
		func() Resource { return &BridgePort{} },
		func() Resource { return &ChildLink{} },
		func() Resource { return &DeviceNetwork{} },
		func() Resource { return &EnsuredSysctl{} },
		func() Resource { return &LinkSysctls{} },
		func() Resource { return &LinkAttr{} },
		func() Resource { return &LinkBackup{} },
		func() Resource { return &LinkUp{} },
		func() Resource { return &Loopback{} },
		func() Resource { return &Masquerade{} },
		func() Resource { return &MasqueradeTable{} },
		func() Resource { return &MovedDevice{} },
		func() Resource { return &Neighbour{} },
		func() Resource { return &RestoredSysctl{} },
		func() Resource { return &Route{} },
		func() Resource { return &Settled{} },
		func() Resource { return &SourceRoutes{} },
		func() Resource { return &SourceRules{} },
		func() Resource { return &SpoofCheck{} },
		func() Resource { return &SpoofCheckTable{} },
		func() Resource { return &SRv6Source{} },
		func() Resource { return &Tap{} },
		func() Resource { return &TapClaim{} },
		func() Resource { return &Veth{} },
		func() Resource { return &VLANGateway{} },
		func() Resource { return &VPCAddresses{} },
		func() Resource { return &VPCZone{} },
		func() Resource { return &VRF{} },
		func() Resource { return &VRFMember{} },
		func() Resource { return &VRFRoute{} },
		func() Resource { return &VRFRules{} },
	} {
		all[blank().Kind()] = blank
	}
	return all
}
