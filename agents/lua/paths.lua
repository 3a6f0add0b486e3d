-- Paths and globs of a request.
local M = {}

-- hidden files are more likely to contain settings and secrets than what a request is about
M.visible = { "**/*", "!**/.*", "!**/.*/**" }

--- Turns a path relative to base_dir into one relative to the workspace.
function M.below(base_dir, path)
  if base_dir == nil or base_dir == "" then return path end
  return (base_dir:gsub("/+$", "")) .. "/" .. path
end

--- A glob that matches only this file, whatever characters its name contains.
function M.glob(path)
  return (path:gsub("[\\*?%[%]{},!]", "\\%0"))
end

--- Joins lists without repeating an item.
function M.joined(...)
  local all, known = {}, {}
  for _, list in ipairs({ ... }) do
    for _, item in ipairs(list) do
      if not known[item] then
        known[item] = true
        all[#all + 1] = item
      end
    end
  end
  return all
end

return M
