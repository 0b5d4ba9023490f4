// Package report shows what campaigns came to: as a table and the worst of it in
// plain words (Text), as JSON for other programs (JSON), and as one HTML page
// that needs nothing else (Page): a matrix of points by faults, in which a click
// tells what happened. Two suites are shown side by side by CompareText and
// ComparePage: a network of one beside the network of that name of the other, a
// point beside the one at which the same program asks the same.
//
// Whatever comes from plugins, errors and names above all, is data: nothing in
// it moves a terminal's cursor or becomes part of the page.
//
// What may enter: ways to count, match and show results. What may not: how cells
// are judged or kept (lab/campaign).
package report
