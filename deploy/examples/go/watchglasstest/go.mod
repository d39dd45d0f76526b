module example.com/watchglasstest

go 1.21
