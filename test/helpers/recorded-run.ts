import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { startModelServer } from './model-server.ts'
import { tempTree } from './temp.ts'

export const recordedFiles = {
  '.git/HEAD': 'ref: refs/heads/main\n',
  'src/a.txt': 'alpha\n',
  'src/b.txt': 'beta\n',
  'ask.md': `+++
model = "openai::mock-coder"
write_mode = true
tone = "calm"
working_globs = ["src/*.txt"]
input_concurrency = 2
sub_agents = [
  { name = "agents/look.aip", stage = "pre" },
  { name = "agents/log.aip", stage = "post" },
]
+++
Say what this is.
Be short.

====
`,
  'agents/look.aip': `# Data

\`\`\`lua
local names = require("names")
local page = aip.web.get(CTX.WORKSPACE_DIR and aip.file.load("page.url").content)
local shell = aip.cmd.exec("cat", { "src/a.txt" })
local missing, reason = pcall(aip.file.load, "src/none.txt")
local found = {}
for i, file in ipairs(aip.file.list("src/*.txt")) do found[i] = file.path end
return {
  text = names.title .. " " .. page.content .. " " .. shell.stdout .. " at " .. aip.time.now_iso_utc()
    .. " number " .. math.random(1, 1000000000) .. " in " .. CTX.WORKSPACE_DIR .. " of " .. table.concat(found, ",")
    .. " without " .. tostring(reason),
}
\`\`\`

# Output

\`\`\`lua
return { coder_prompts_append = data.text .. " tone " .. input.coder_params.tone }
\`\`\`
`,
  'agents/lua/names.lua': 'return { title = "Seen:" }\n',
  'agents/log.aip': `# Output

\`\`\`lua
local info = aip.file.save("out/report.txt", "answers: " .. #input.coder_responses .. "\\n")
aip.file.append("out/report.txt", "saved " .. info.size .. " bytes\\n")
aip.file.delete("src/b.txt")
print("reported")
\`\`\`
`,
}

interface RecordedRun {
  readonly cwd: string
  readonly env: { readonly [name: string]: string }
  /** Stops the servers for models and pages. */
  readonly end: () => Promise<void>
}

/** What it takes to run `recordedFiles`. */
export async function startRecordedRun(): Promise<RecordedRun> {
  const page = createServer((_, response) => response.end('page one'))
  await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve))
  const model = await startModelServer(({ body }) => {
    const asked = JSON.stringify(body?.messages)
    const name = asked.includes('beta') ? 'b' : 'a'
    return {
      text: `It is ${name}.\n\n<FILE_CHANGES>\n<FILE_NEW file_path="made/${name}.txt">\nmade ${name}\n</FILE_NEW>\n</FILE_CHANGES>\n`,
    }
  })
  const address = page.address() as AddressInfo
  const cwd = tempTree({ ...recordedFiles, 'page.url': `http://127.0.0.1:${address.port}/` })
  return {
    cwd,
    env: { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk-test-0123456789' },
    end: async () => {
      page.closeAllConnections()
      page.close()
      await model.close()
    },
  }
}

/** Moves the workspace elsewhere, without the files that were read. */
export function moveAway(cwd: string): string {
  const moved = join(tempTree(), 'else', 'where')
  mkdirSync(dirname(moved))
  renameSync(cwd, moved)
  for (const name of ['src', 'out', 'made', 'page.url']) rmSync(join(moved, name), { recursive: true, force: true })
  return moved
}
