local l = aip.file.list("/work/**/*") return #l
