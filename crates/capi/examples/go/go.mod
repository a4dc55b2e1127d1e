module hamdex/examples/near

go 1.19
