-- The files of a code map.
local paths, summaries = require("paths"), require("summaries")
local M = {}

--- The files of the map, in the order of the globs: `path` relative to base_dir, `hash`, `summary` if the cache or
--- `new` has one, and `is_large` for files that are too large for a note.
function M.files(plan, new)
  local base_dir, config = plan.base_dir, plan.config
  local globs = paths.joined(config.globs, { "!**/.cache/**" })
  local known, files = summaries.load(plan.cache), {}
  for _, file in ipairs(aip.file.list(globs, { base_dir = base_dir })) do
    if file.is_likely_text then
      local hash = summaries.hash(paths.below(base_dir, file.path))
      files[#files + 1] = {
        path = file.path,
        hash = hash,
        summary = new and new[hash] or known[hash],
        is_large = file.size > config.max_file_kb * 1000,
      }
    end
  end
  return files
end

return M
