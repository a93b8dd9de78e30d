module github.com/tidemall/tidemall/timeout/bench

go 1.26.0

require github.com/tidemall/tidemall v0.0.0

require golang.org/x/sys v0.50.0 // indirect

replace github.com/tidemall/tidemall => ../..
