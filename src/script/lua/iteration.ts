/**
 * `pairs` in a fixed order (DESIGN 7): 1..#t, then other numbers ascending, then strings in byte order, then false and
 * true, then the rest in the order of `next`. The keys after the list part are collected when the list part is done;
 * a key that has been cleared by then or later is left out, as with `next`. `ipairs` is written in Lua so that a host
 * function may wait inside `__index`.
 */
export const iteration = String.raw`
local function append(list, count, more)
  for index = 1, #more do list[count + index] = more[index] end
  return count + #more
end

-- Keys of every kind except 1..border, for tables that have more than string keys.
local function mixed_keys(t, border, strings)
  local ordered, others, number_count, other_count = {}, {}, 0, 0
  local booleans = {}
  for key in next, t do
    local kind = type(key)
    if kind == 'number' then
      if key < 1 or key > border or math_type(key) ~= 'integer' then
        number_count = number_count + 1
        ordered[number_count] = key
      end
    elseif kind == 'boolean' then
      booleans[key and 2 or 1] = key
    elseif kind ~= 'string' then
      other_count = other_count + 1
      others[other_count] = key
    end
  end
  native.sort(ordered)
  local count = append(ordered, number_count, strings)
  if booleans[1] == false then count = append(ordered, count, { false }) end
  if booleans[2] then count = append(ordered, count, { true }) end
  return ordered, append(ordered, count, others)
end

local function ordered_keys(t, border)
  local strings, count, has_others = keys(t, border)
  if count > 1 then native.sort(strings) end
  if has_others then return mixed_keys(t, border, strings) end
  return strings, count
end

local function key_iterator(t, border, fetch)
  local list, count = ordered_keys(t, border)
  local position = 0
  if fetch then
    return function()
      while position < count do
        position = position + 1
        local key = list[position]
        local value = fetch(t, key)
        if value ~= nil then return key, value end
      end
    end
  end
  return function()
    while position < count do
      position = position + 1
      local key = list[position]
      local value = t[key]
      if value ~= nil then return key, value end
    end
  end
end

local function element_iterator(t, border, fetch)
  local index, rest = 0, nil
  return function()
    while index < border do
      index = index + 1
      local value
      if fetch then value = fetch(t, index) else value = t[index] end
      if value ~= nil then return index, value end
    end
    rest = rest or key_iterator(t, border, fetch)
    return rest()
  end
end

function pairs(t)
  local meta = metatable_of(t)
  local fetch
  if meta then
    local iterate = rawget(meta, '__pairs')
    if iterate then
      local step, subject, first = iterate(t)
      return step, subject, first
    end
    if rawget(meta, '__index') ~= nil then fetch = rawget end
  end
  if type(t) ~= 'table' then error("bad argument #1 to 'pairs' (table expected, got " .. type(t) .. ')', 2) end
  local border = rawlen(t)
  if border == 0 then return key_iterator(t, 0, fetch), t, nil end
  return element_iterator(t, border, fetch), t, nil
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
