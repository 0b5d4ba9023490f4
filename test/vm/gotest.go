package main
import "context"
func testMain(context.Context, []string) (int, error) {return 0,nil}
