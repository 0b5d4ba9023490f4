package conformance

// subjects are the plugins under test, in the order of the table.
var subjects = []subject{loopback(), bridge(), ptp(), hostLocalSubject(), static()}
