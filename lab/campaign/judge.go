package campaign

// A judge goes through a run's steps.
type judge struct {
	measure measure
	seen    map[Finding]bool
}

func newJudge(m measure) *judge { return &judge{measure: m, seen: map[Finding]bool{}} }

// step judges one step by its error and by what is there after it; nil if
// nobody looked.
func (j *judge) step(s step, broken bool, err error, now facts) Step {
	out := Step{Call: s.name}
	find := func(v Verdict, texts ...string) {
		for _, t := range texts {
			if f := (Finding{v, t}); !j.seen[f] {
				j.seen[f] = true
				out.Found = append(out.Found, f)
			}
		}
	}
	if err != nil {
		out.Error = err.Error()
		if broken && s.must {
			find(Damage, s.name+" fails, though it can do all that it has to: "+err.Error())
		}
		if !broken && !s.fails && j.measure.flaws[s.name] == nil {
			find(Damage, s.name+" fails, without fault: "+err.Error())
		}
	}
	if now == nil {
		return out
	}
	find(Damage, j.measure.damaged(s.claim, now)...)
	v, texts := j.held(s, broken, err, now)
	find(v, texts...)
	return out
}

// held holds what a step says of itself against what is there.
func (j *judge) held(s step, broken bool, err error, now facts) (Verdict, []string) {
	switch {
	case s.claim == claimKept:
		return Damage, j.measure.missing(now)
	case err != nil:
	case s.claim == claimRemoved && broken && s.named:
	case s.claim == claimRemoved && broken:
		return Lie, j.measure.lied(s.verb, now)
	case s.claim == claimRemoved:
		return Leak, j.measure.left(s.verb, now)
	case s.claim == claimAdded && (broken || s.fails):
		return Lie, j.measure.missing(now)
	}
	return Clean, nil
}

// conclude is the verdict of a run.
func conclude(steps []Step) Verdict {
	v := Worst(steps)
	if v == Clean && len(steps) > 0 && steps[0].Error != "" {
		return Error
	}
	return v
}
