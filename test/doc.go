// Package test holds what is true of the repository as a whole: which room may
// import which (rooms_test.go). The suites that cross rooms are in folders here.
//
// What may enter: a check of the source tree. What may not: a test of behaviour.
package test
