package main
func clientMain([]string) (int, error) {return 0,nil}
