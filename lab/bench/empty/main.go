// Command empty does nothing: what it costs to run is what it costs to start
// any static Go process, below which no plugin can be.
package main

func main() {}
