import type { HostModule } from './module.ts'

/**
 * `aip.lua`. Written in Lua, because merging changes the first table in place and shares inner tables, and because
 * `dump` shows functions too.
 */
export const luaModule: HostModule = {
  name: 'aip.lua',
  functions: {},
  lua: {
    name: 'aip.lua',
    /**
     * `aip.lua.dump(value) → string` The value in Lua-like notation, indented; functions and cycles are shown as
     * `<function>` and `<cycle>`.
     */
    /**
     * `aip.lua.merge(target, ...tables) → target` Copies the keys of the other tables into the first, which is changed
     * and returned; later tables take precedence. nil and null are skipped; any other value that is not a table is an
     * error.
     */
    /**
     * `aip.lua.merge_deep(target, ...tables) → target`
     * The same, but if both have a table at a key, those tables are merged too.
     */
    text: `
local null = null

-- AIPack writes numbers without an exponent
local function plain(text)
  local sign, whole, fraction, exponent = text:match("^(-?)(%d+)%.?(%d*)e([+-]%d+)$")
  if not exponent then return text end
  local digits, point = whole .. fraction, #whole + tonumber(exponent)
  if point <= 0 then return sign .. "0." .. ("0"):rep(-point) .. digits end
  return sign .. digits .. ("0"):rep(point - #digits)
end

local function number_text(value)
  if math.type(value) == "integer" then return tostring(value) end
  if value ~= value then return "NaN" end
  for digits = 15, 17 do
    local text = string.format("%." .. digits .. "g", value)
    if tonumber(text) == value then return plain(text) end
  end
  return tostring(value)
end

local function dump(value, indent, open)
  local kind = type(value)
  if kind == "number" then return number_text(value) end
  if kind == "string" then return '"' .. value .. '"' end
  if kind == "function" then return "<function>" end
  if kind == "thread" then return "<Thread>" end
  if value == null then return "NULL" end
  if kind == "userdata" then return "<UserData>" end
  if kind ~= "table" then return tostring(value) end
  if open[value] then return "<cycle>" end
  open[value] = true
  local entries = {}
  for key, item in pairs(value) do
    local name = type(key) == "string" and key or dump(key, "", open)
    entries[#entries + 1] = indent .. "  " .. name .. " = " .. dump(item, indent .. "  ", open)
  end
  open[value] = nil
  if #entries == 0 then return "{}" end
  return "{\\n" .. table.concat(entries, ",\\n") .. "\\n" .. indent .. "}"
end

-- Level 3 of the errors is the script: the functions below must not call this as a tail call.
local function each_source(name, target, merge, ...)
  if type(target) ~= "table" then error(name .. ": the first argument must be a table, but was " .. type(target), 3) end
  for position = 1, select("#", ...) do
    local source = (select(position, ...))
    if type(source) == "table" then
      merge(target, source)
    elseif source ~= nil and source ~= null then
      error(name .. ": cannot merge a non table type, argument " .. position + 1 .. " was " .. type(source), 3)
    end
  end
end

local function copy_into(target, source)
  for key, value in pairs(source) do target[key] = value end
end

local function merge_into(target, source)
  for key, value in pairs(source) do
    local present = target[key]
    if type(present) == "table" and type(value) == "table" and present ~= value then
      merge_into(present, value)
    else
      target[key] = value
    end
  end
end

aip.lua = {
  dump = function(value) return dump(value, "", {}) end,
  merge = function(target, ...)
    each_source("aip.lua.merge", target, copy_into, ...)
    return target
  end,
  merge_deep = function(target, ...)
    each_source("aip.lua.merge_deep", target, merge_into, ...)
    return target
  end,
}
`,
  },
}
