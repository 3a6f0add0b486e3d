-- A model's notes on files, stored by the hash of their content: one line of JSON each, appended as soon as it is
-- known, so that an interrupted run resumes where it stopped. Deleting the file starts over.
local M = {}

--- If the file has more lines than this, old ones are dropped when it is read.
local many = 2000

function M.file(request) return request.coder_workbench.prompt_cache_dir .. "/code-map.jsonl" end

--- The hash under which the note on this file is stored.
function M.hash(path) return aip.file.hash_sha256(path):sub(1, 32) end

--- Keeps only the newest note of each path.
local function compact(path, lines)
  local newest = {}
  for index, line in ipairs(lines) do newest[line.path] = index end
  local kept = {}
  for index, line in ipairs(lines) do
    if newest[line.path] == index then kept[#kept + 1] = aip.json.stringify_to_line(line) .. "\n" end
  end
  if #kept * 2 <= #lines then pcall(aip.file.save, path, table.concat(kept)) end
end

--- All notes by hash. Incomplete lines are skipped.
function M.load(path)
  local notes, lines = {}, {}
  if not aip.path.is_file(path) then return notes end
  for line in aip.file.load(path).content:gmatch("[^\n]+") do
    local ok, entry = pcall(aip.json.parse, line)
    if ok and type(entry) == "table" and type(entry.hash) == "string" and type(entry.summary) == "string" then
      notes[entry.hash] = entry.summary
      lines[#lines + 1] = entry
    end
  end
  if #lines > many then compact(path, lines) end
  return notes
end

--- Stores a note. Returns false if it cannot be written, for example in a folder outside the workspace.
function M.add(path, entry) return (pcall(aip.file.append_json_line, path, entry)) end

return M
