package conformance

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// A number is one line of the checklist.
type number struct {
	number int
	slug   string
	// na says why the number does not concern a subject, "" if it does.
	na func(*subject) string
	// prove is the test; it may make more hosts than the trial's.
	prove func(*trial)
}

// numbers is the checklist, 1 to 40.
var numbers = []number{
	{1, "RepeatedDEL", all, spec01},
	{2, "DELWithoutPrevResult", all, spec02},
	{3, "DELBestEffort", all, spec03},
	{4, "IPAMReleasesWithoutNamespace", ipamOnly, spec04},
	{5, "DHCPReleaseFails", dhcpOnly, nil},
	{6, "DELDelegatesAndCleans", delegating, spec06},
	{7, "DELNeedsThreeVariables", all, spec07},
	{8, "GCRemovesWhatItCan", all, spec08},
	{9, "GCGoesOnAfterAnError", gcCanFail, spec09},
	{10, "GCDelegates", delegating, spec10},
	{11, "GCReadsValidAttachments", all, spec11},
	{12, "GCTakesNamespacesAsGone", all, spec12},
	{13, "RuntimeGC", runtimes, nil},
	{14, "CHECKConsultsPrevResult", all, spec14},
	{15, "CHECKAllowsLaterChanges", all, spec15},
	{16, "CHECKFindsDamage", hasBreakages(16), spec16},
	{17, "CHECKFindsDamageElsewhere", hasBreakages(17), spec17},
	{18, "CHECKFindsUnreachable", hasBreakages(18), spec18},
	{19, "CHECKRightAfterADD", all, spec19},
	{20, "CHECKDelegates", delegating, spec20},
	{21, "RuntimeCHECK", runtimes, nil},
	{22, "STATUSReadyOrError", all, spec22},
	{23, "STATUSUsedUp", usesAddresses, spec23},
	{24, "STATUSCodes", canBeUnready, spec24},
	{25, "STATUSDelegates", delegating, spec25},
	{26, "ADDAndDELWithoutSTATUS", all, spec26},
	{27, "ADDExistingInterface", makesInterface, spec27},
	{28, "ADDUnusableName", all, spec28},
	{29, "PrevResultPassedThrough", passesOn, spec29},
	{30, "DelegateFoundInPath", delegating, spec30},
	{31, "DelegateGetsEverything", delegating, spec31},
	{32, "DelegateStderr", delegating, spec32},
	{33, "DelegateGetsEveryVerb", delegating, spec33},
	{34, "DelegateDELAfterFailedADD", delegating, spec34},
	{35, "IPAMResultHasNoInterfaces", ipamOnly, spec35},
	{36, "ADDResult", all, spec36},
	{37, "VERSION", all, spec37},
	{38, "ErrorObject", all, spec38},
	{39, "SafeBesideOthers", all, spec39},
	{40, "NamesValidated", all, spec40},
}

func all(*subject) string { return "" }

func runtimes(*subject) string { return "a duty of the runtime" }

func ipamOnly(s *subject) string {
	if s.ipam {
		return ""
	}
	return "no IPAM plugin"
}

func dhcpOnly(s *subject) string {
	if s.name == "dhcp" {
		return ""
	}
	return "holds no DHCP lease"
}

func delegating(s *subject) string {
	if s.delegates {
		return ""
	}
	return "has no delegate"
}

func makesInterface(s *subject) string {
	if s.interfaces != nil && s.inside() && s.name != "loopback" && s.chain == nil {
		return ""
	}
	return "makes no interface in the container"
}

func passesOn(s *subject) string {
	if s.passesOn || s.chain != nil {
		return ""
	}
	return "is never later in a chain"
}

func gcCanFail(s *subject) string {
	if s.delegates || s.leases {
		return ""
	}
	return "owns nothing that can be kept from going"
}

func usesAddresses(s *subject) string {
	if s.delegates || s.leases {
		return ""
	}
	return "needs nothing that can be used up"
}

func canBeUnready(s *subject) string { return usesAddresses(s) }

func hasBreakages(n int) func(*subject) string {
	return func(s *subject) string {
		for _, b := range s.breakages {
			if b.number == n {
				return ""
			}
		}
		return "owns nothing of that sort"
	}
}

func reasonsInOrder(reasons map[string][]string) []string {
	var list []string
	for r := range reasons {
		list = append(list, r)
		slices.Sort(reasons[r])
	}
	slices.Sort(list)
	return list
}

// A trial is one number's test of one plugin.
type trial struct {
	*testing.T
	*subject
	dir string
	h   *host.Host
}

// again returns the trial with another host and test.
func (tr *trial) again(t *testing.T) *trial {
	return newTrial(t, tr.subject, tr.dir)
}

func newTrial(t *testing.T, s *subject, dir string) *trial {
	h := host.New(t)
	if s.prepare != nil {
		s.prepare(h)
	}
	return &trial{T: t, subject: s, dir: dir, h: h}
}

// kindOnly are the numbers in which a plugin's own kind of link has a part.
var kindOnly = []int{1, 3, 6, 14, 15, 16, 17, 18, 19, 27, 36, 39}

// notApplicable says why the number is not tried on a subject, "" if it is.
// Other suites' plugins are not like each other.
func (s *subject) notApplicable(n number) string {
	reason := n.na(s)
	if reason == "" && s.like != "" && os.Getenv("FAIRLEAD_CONFORMANCE_DIR") == "" && !slices.Contains(kindOnly, n.number) {
		reason = "proven of " + s.like + ", which is stated by the same code"
	}
	return reason
}

func TestConformance(t *testing.T) {
	t.Parallel()
	dir := plugins(t)
	for i := range subjects {
		s := &subjects[i]
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for _, n := range numbers {
				if reason := s.notApplicable(n); reason != "" {
					scores.notApplicable(s.name, n.number, reason)
					continue
				}
				t.Run(fmt.Sprintf("Spec%02d%s", n.number, n.slug), func(t *testing.T) {
					t.Parallel()
					scores.set(s.name, n.number, "FAIL")
					t.Cleanup(func() {
						if !t.Failed() {
							scores.set(s.name, n.number, "ok")
						}
					})
					n.prove(newTrial(t, s, dir))
				})
			}
		})
	}
}
