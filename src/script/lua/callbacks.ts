/**
 * `table.sort` with a comparator and `string.gsub` with a function, written in Lua so that a host function may wait in
 * the callback (spec/lua-engines.md 4.3). The sort is a stable merge sort. Without a callback the native ones run.
 */
export const callbacks = String.raw`
local function merge(source, target, run)
  local low, before = run.low, run.before
  local left, right, place = low, run.middle, low
  local left_end, right_end = run.middle, run.high
  while left < left_end and right < right_end do
    if before(source[right], source[left]) then
      target[place] = source[right]
      right = right + 1
    else
      target[place] = source[left]
      left = left + 1
    end
    place = place + 1
  end
  for index = left, left_end - 1 do
    target[place] = source[index]
    place = place + 1
  end
  for index = right, right_end - 1 do
    target[place] = source[index]
    place = place + 1
  end
end

function table.sort(t, before)
  if type(before) ~= 'function' or type(t) ~= 'table' then return native.sort(t, before) end
  local length = #t
  local source, target = {}, {}
  for index = 1, length do source[index] = t[index] end
  local width = 1
  local run = { before = before }
  while width < length do
    local low = 1
    while low <= length do
      run.low = low
      run.middle = low + width <= length and low + width or length + 1
      run.high = low + 2 * width <= length and low + 2 * width or length + 1
      merge(source, target, run)
      low = low + 2 * width
    end
    source, target = target, source
    width = 2 * width
  end
  for index = 1, length do t[index] = source[index] end
end

local function replacement(replace, whole, ...)
  local value
  if select('#', ...) == 0 then value = replace(whole) else value = replace(...) end
  if not value then return whole end
  local kind = type(value)
  if kind ~= 'string' and kind ~= 'number' then error('invalid replacement value (a ' .. kind .. ')', 4) end
  return value
end

-- First and last byte of a match and what replaces it; nil for an empty match where the one before ended.
local function substitute(text, call, first, last, ...)
  if first == nil then return nil end
  if last < first and first == call.ended then return first, last, nil end
  return first, last, replacement(call.replace, native.sub(text, first, last), ...)
end

function string.gsub(text, pattern, replace, limit)
  if type(replace) ~= 'function' then return native.gsub(text, pattern, replace, limit) end
  if type(text) == 'number' then text = native.tostring(text) end
  if type(pattern) == 'number' then pattern = native.tostring(pattern) end
  if type(text) ~= 'string' or type(pattern) ~= 'string' or limit ~= nil and not math_type(limit) then
    return native.gsub(text, pattern, replace, limit)
  end
  local is_anchored = native.sub(pattern, 1, 1) == '^'
  local parts, size, position, count = {}, 0, 1, 0
  local call = { replace = replace }
  while limit == nil or count < limit do
    local first, last, value = substitute(text, call, native.find(text, pattern, position))
    if first == nil then break end
    if value == nil then
      if position > #text then break end
      size = size + 1
      parts[size] = native.sub(text, position, position)
      position = position + 1
    else
      if first > position then
        size = size + 1
        parts[size] = native.sub(text, position, first - 1)
      end
      size = size + 1
      parts[size] = value
      count = count + 1
      position = last + 1
      call.ended = position
    end
    if is_anchored then break end
  end
  parts[size + 1] = native.sub(text, position)
  return concat(parts), count
end
`
