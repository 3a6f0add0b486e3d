/**
 * Takes away what reaches outside or breaks the engine (spec/lua-engines.md 6) and replaces what has to behave alike on
 * every engine. Finalizers (`__gc`) never run: the engine could not stop an endless one, and a state is short-lived.
 */
export const globals = String.raw`
debug.setmetatable(null, { __metatable = false, __name = 'null', __tostring = function() return 'NULL' end })
dofile, loadfile, require, package, io, print = nil, nil, nil, nil, nil, nil
os = {}
debug = { traceback = debug.traceback }
string.dump = nil
globals.null, globals.Null, globals.NULL = null, null, null

function getmetatable(value)
  local meta = native.getmetatable(value)
  if rawequal(meta, list) then return nil end
  return meta
end

function setmetatable(value, meta)
  local finalizer = type(meta) == 'table' and rawget(meta, '__gc')
  if not finalizer then return native.setmetatable(value, meta) end
  rawset(meta, '__gc', nil)
  local ok, message = pcall(native.setmetatable, value, meta)
  rawset(meta, '__gc', finalizer)
  if not ok then error(message, 2) end
  return value
end

function tostring(...)
  local value = ...
  local kind = type(value)
  if kind == 'table' or kind == 'userdata' then
    local meta = metatable_of(value)
    local convert = meta and rawget(meta, '__tostring')
    if convert ~= nil and convert ~= false then
      local text = convert(value)
      if type(text) == 'number' then return native.tostring(text) end
      if type(text) ~= 'string' then error("'__tostring' must return a string", 2) end
      return text
    end
  end
  return native.tostring(...)
end

function collectgarbage(option)
  if option == nil or option == 'collect' then return native.collectgarbage('collect') end
  if option == 'count' or option == 'step' then return native.collectgarbage(option) end
  error("bad argument #1 to 'collectgarbage' ('collect', 'count' or 'step' expected)", 2)
end

-- Only text is loaded: crafted binary chunks can corrupt the memory of Lua.
function load(chunk, name, mode, ...)
  if type(chunk) == 'function' then
    local parts, count = {}, 0
    while true do
      local part = chunk()
      if part == nil or part == '' then break end
      if type(part) ~= 'string' then return nil, 'reader function must return a string' end
      count = count + 1
      parts[count] = part
    end
    chunk = concat(parts)
    if name == nil then name = '=(load)' end
  end
  if mode ~= nil and not native.find(mode, 't', 1, true) then
    return nil, "attempt to load a text chunk (mode is '" .. mode .. "')"
  end
  return native.load(chunk, name, 't', ...)
end

local seeded = false

function math.random(...)
  if not seeded then
    seeded = true
    native.randomseed(seed())
  end
  return native.random(...)
end

function math.randomseed(...)
  seeded = true
  if select('#', ...) == 0 then return native.randomseed(seed()) end
  return native.randomseed(...)
end
`
