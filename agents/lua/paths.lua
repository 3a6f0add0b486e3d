-- Paths and globs of a request.
local M = {}

-- hidden files hold settings and secrets more often than what a request is about
M.visible = { "**/*", "!**/.*", "!**/.*/**" }

--- The path from the workspace of a path that is relative to base_dir.
function M.below(base_dir, path)
  if base_dir == nil or base_dir == "" then return path end
  return (base_dir:gsub("/+$", "")) .. "/" .. path
end

--- The glob that means this one file, whatever characters are in its name.
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
