-- Notes of a model about files, kept by the hash of their content: one line of JSON each, added as soon as it is known,
-- so that a run that was stopped goes on where it was. Whoever deletes the file starts over.
local M = {}

--- Lines beyond which old ones are dropped when the file is read.
local many = 2000

function M.file(request) return request.coder_workbench.prompt_cache_dir .. "/code-map.jsonl" end

--- The hash behind which a note about this file is kept.
function M.hash(path) return aip.file.hash_sha256(path):sub(1, 32) end

--- Keeps the newest note of each path only.
local function compact(path, lines)
  local newest = {}
  for index, line in ipairs(lines) do newest[line.path] = index end
  local kept = {}
  for index, line in ipairs(lines) do
    if newest[line.path] == index then kept[#kept + 1] = aip.json.stringify_to_line(line) .. "\n" end
  end
  if #kept * 2 <= #lines then pcall(aip.file.save, path, table.concat(kept)) end
end

--- All notes by hash. A line that was not written to its end is passed over.
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

--- Keeps a note; false when it cannot be written, as below a folder outside the workspace.
function M.add(path, entry) return (pcall(aip.file.append_json_line, path, entry)) end

return M
