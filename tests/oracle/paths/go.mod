module meshprobe/oracle/paths

go 1.24
