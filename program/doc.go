// Package program executes other programs: delegates, iptables. What may enter
// is what every execution has in common, wherever it is made; who is executed
// and what it says is for the callers. It imports no other room.
package program
