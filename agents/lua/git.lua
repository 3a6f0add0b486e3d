-- The changes in a git work tree since a commit, including new files.
local M = {}

local function git(dir, ...)
  return aip.cmd.exec("git", { ... }, { cwd = dir })
end

local function split(text)
  local list = {}
  for item in text:gmatch("[^\0]+") do list[#list + 1] = item end
  return list
end

--- The commit to compare with. For another branch this is the merge base, so that only changes of this one are seen.
local function start_of(dir, base)
  local commit = git(dir, "rev-parse", "--verify", "--quiet", "--end-of-options", base .. "^{commit}")
  if commit.exit ~= 0 then
    if base ~= "HEAD" then return nil, 'there is no commit "' .. base .. '"' end
    -- nothing has been committed yet: compare with the empty tree
    return aip.text.trim(git(dir, "hash-object", "-t", "tree", "/dev/null").stdout)
  end
  local sha = aip.text.trim(commit.stdout)
  local fork = git(dir, "merge-base", sha, "HEAD")
  return fork.exit == 0 and aip.text.trim(fork.stdout) or sha
end

--- A new file as a diff. If it cannot be read as text, or is larger than `room`, only its name is given.
local function as_new(dir, path, room)
  local head = "diff --git a/" .. path .. " b/" .. path .. "\nnew file\n"
  local ok, content = pcall(function()
    local info = aip.file.info(aip.path.join(dir, path))
    return info.is_likely_text and info.size <= room and aip.file.load(path, { base_dir = dir }).content
  end)
  if not ok or not content or content:find("\0", 1, true) then return head end
  local lines = {}
  for line in (aip.text.trim_end(content) .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = "+" .. line end
  return head .. "--- /dev/null\n+++ b/" .. path .. "\n" .. table.concat(lines, "\n") .. "\n"
end

local function cut(text, max_bytes)
  if #text <= max_bytes then return text end
  local kept = text:sub(1, max_bytes):match("^(.*\n)") or ""
  return kept .. "[cut here: " .. aip.text.format_size(#text - #kept) .. " more]\n"
end

--- The changes since `options.base` in the folder `dir`: `text`, a unified diff of at most `max_kb`, and `files`, the
--- changed paths that exist, relative to the folder. `paths`, git pathspecs, limits both. On failure, nil and why.
function M.changes(dir, options)
  local ok, inside = pcall(git, dir, "rev-parse", "--is-inside-work-tree")
  if not ok then return nil, tostring(inside) end
  if inside.exit ~= 0 then return nil, "there is no git repository here" end
  local start, problem = start_of(dir, options.base)
  if start == nil then return nil, problem end

  -- the caches of built-in agents do not count as changes
  local paths = { "--", ":(exclude,glob)**/.cache/**" }
  for _, path in ipairs(options.paths) do paths[#paths + 1] = path end
  local diff = git(dir, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--relative", start, table.unpack(paths))
  if diff.exit ~= 0 then return nil, "git diff failed: " .. aip.text.trim(diff.stderr) end
  local changed = git(dir, "diff", "--name-only", "-z", "--diff-filter=d", "--relative", start, table.unpack(paths))
  local new = split(git(dir, "ls-files", "--others", "--exclude-standard", "-z", table.unpack(paths)).stdout)

  local max_bytes, text, files = options.max_kb * 1000, diff.stdout, split(changed.stdout)
  for _, path in ipairs(new) do
    -- a folder here is a nested repository
    if path:sub(-1) ~= "/" then
      text = text .. as_new(dir, path, max_bytes - #text)
      files[#files + 1] = path
    end
  end
  return { text = cut(text, max_bytes), files = files }
end

--- The folder of a request in which git runs.
function M.folder(params)
  local base_dir = value_or(params.base_dir, "")
  return base_dir == "" and CTX.WORKSPACE_DIR or base_dir
end

return M
