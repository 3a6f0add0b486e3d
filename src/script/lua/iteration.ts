/**
 * `pairs` in a fixed order (DESIGN 7): 1..#t, then other numbers ascending, then strings in byte order, then false and
 * true, then the rest in the order of `next`. The keys after the list part are collected when the list part is done;
 * a key that has been cleared by then or later is left out, as with `next`. `ipairs` is written in Lua so that a host
 * function may wait inside `__index`.
 */
export const iteration = String.raw`
local function append(keys, count, more)
  for index = 1, #more do keys[count + index] = more[index] end
  return count + #more
end

local function keys_outside(t, border)
  local numbers, strings, others = {}, {}, {}
  local number_count, string_count, other_count = 0, 0, 0
  local has_false, has_true = false, false
  for key in next, t do
    local kind = type(key)
    if kind == 'string' then
      string_count = string_count + 1
      strings[string_count] = key
    elseif kind == 'number' then
      if key < 1 or key > border or math_type(key) ~= 'integer' then
        number_count = number_count + 1
        numbers[number_count] = key
      end
    elseif key == false then
      has_false = true
    elseif key == true then
      has_true = true
    else
      other_count = other_count + 1
      others[other_count] = key
    end
  end
  if string_count > 1 then native.sort(strings) end
  if number_count == 0 and not has_false and not has_true and other_count == 0 then return strings, string_count end
  native.sort(numbers)
  local count = append(numbers, number_count, strings)
  if has_false then count = append(numbers, count, { false }) end
  if has_true then count = append(numbers, count, { true }) end
  return numbers, append(numbers, count, others)
end

function pairs(t)
  local meta = metatable_of(t)
  local iterate = meta and rawget(meta, '__pairs')
  if iterate ~= nil and iterate ~= false then
    local step, subject, first = iterate(t)
    return step, subject, first
  end
  if type(t) ~= 'table' then error("bad argument #1 to 'pairs' (table expected, got " .. type(t) .. ')', 2) end
  local is_plain = not meta or rawget(meta, '__index') == nil
  local border, index = rawlen(t), 0
  local keys, count, position
  return function()
    while index < border do
      index = index + 1
      local value
      if is_plain then value = t[index] else value = rawget(t, index) end
      if value ~= nil then return index, value end
    end
    if not keys then
      keys, count = keys_outside(t, border)
      position = 0
    end
    while position < count do
      position = position + 1
      local key = keys[position]
      local value
      if is_plain then value = t[key] else value = rawget(t, key) end
      if value ~= nil then return key, value end
    end
  end, t, nil
end

local function next_element(t, index)
  index = index + 1
  local value = t[index]
  if value ~= nil then return index, value end
end

function ipairs(t)
  if t == nil then error("bad argument #1 to 'ipairs' (table expected, got nil)", 2) end
  return next_element, t, 0
end
`
