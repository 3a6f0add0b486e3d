-- Quotes texts for a model, in frames that no text can close.
local M = {}

local entities = { ["&"] = "&amp;", ['"'] = "&quot;", ["<"] = "&lt;", [">"] = "&gt;" }

-- control characters, direction marks and other invisible characters, and line separators
local unseen = {
  { 0, 0x1F }, { 0x7F, 0x9F }, { 0xAD, 0xAD }, { 0x600, 0x605 }, { 0x61C, 0x61C }, { 0x6DD, 0x6DD }, { 0x70F, 0x70F },
  { 0x180E, 0x180E }, { 0x200B, 0x200F }, { 0x2028, 0x202E }, { 0x2060, 0x206F }, { 0xFEFF, 0xFEFF },
  { 0xFFF9, 0xFFFB }, { 0xE0000, 0xE007F },
}

local function escaped(character)
  local code = utf8.codepoint(character)
  for _, range in ipairs(unseen) do
    if code >= range[1] and code <= range[2] then return string.format("&#x%X;", code) end
  end
end

--- A name, escaped so that it stays on its line and in its attribute.
function M.name(text)
  local plain = text:gsub('[&"<>]', entities)
  return utf8.len(plain) and (plain:gsub(utf8.charpattern, escaped)) or (plain:gsub("[^ -~]", "?"))
end

--- A text between `<tag …>` and `</tag>`. If it could close this frame, it gets an end tag that it does not contain,
--- made of its hash, so that the same text always gives the same prompt. `attributes` lists names and values alternately.
function M.block(tag, text, attributes)
  local head = "<" .. tag
  for index = 1, #(attributes or {}), 2 do
    head = head .. " " .. attributes[index] .. '="' .. M.name(attributes[index + 1]) .. '"'
  end
  local body = text:gsub("\n$", "")
  if not body:lower():find("<%s*/%s*" .. tag) then return head .. ">\n" .. body .. "\n</" .. tag .. ">" end
  local hash = aip.hash.sha256(body)
  local length = 12
  while length < #hash and body:find(hash:sub(1, length), 1, true) do length = length + 1 end
  local mark = "/" .. tag .. " " .. hash:sub(1, length)
  return head .. ' ends_with="' .. mark .. '">\n' .. body .. "\n<" .. mark .. ">"
end

--- A file.
function M.file(path, content)
  return M.block("file", content, { "path", path })
end

--- A text in a code fence that is longer than any fence in it.
function M.fenced(text)
  local fence = "````"
  for marks in text:gmatch("`+") do
    if #marks >= #fence then fence = marks .. "`" end
  end
  return fence .. "text\n" .. text .. "\n" .. fence
end

return M
