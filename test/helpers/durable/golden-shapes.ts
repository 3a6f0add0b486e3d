import type { Disturbance } from './play.ts'
import { scenarioOf } from './scenario.ts'

/** A run whose journal is kept for all later versions, stopped after the answer to its last model call. */
export interface Shape {
  readonly files: Readonly<Record<string, string>>
  readonly args: readonly string[]
  readonly stop: Disturbance
}

const model = `# Options

\`\`\`toml
model = "gpt-5-mini"
\`\`\`
`

export const shapes: Readonly<Record<string, Shape>> = {
  /** Four stages and 20 tasks that change files; stopped in a section that has run a command. */
  chain: {
    files: scenarioOf(20),
    args: ['run', 'ask.md'],
    stop: { match: '"path":"out/report.txt"', at: 1, when: 'after' },
  },
  /** An agent as target: all its sections, three inputs, pins; stopped in After All. */
  sections: {
    files: {
      'baton.toml': '',
      'each.aip': `${model}
# Before All

\`\`\`lua
aip.run.pin("plan", 1, "the plan")
return aip.flow.before_all_response({ before_all = { word = "calm" } })
\`\`\`

# Data

\`\`\`lua
return aip.flow.data_response({ data = { topic = input, now = aip.time.now_iso_utc() } })
\`\`\`

# User

Think about: {{data.topic}} {{before_all.word}}

# Output

\`\`\`lua
print("seen " .. data.topic)
return { text = ai_response.content, large = string.rep("x", data.topic == "three" and 70000 or 1) }
\`\`\`

# After All

\`\`\`lua
aip.file.save("out/all.txt", #outputs .. " outputs, " .. #outputs[3].large .. " characters\\n")
print("all done")
return #outputs
\`\`\`
`,
    },
    args: ['run', 'each.aip', '-i', 'one', '-i', 'two', '-i', 'three'],
    stop: { match: '"op":"write"', at: 1, when: 'after' },
  },
  /** A prompt file that runs another as an agent, and Lua that continues after an error; stopped at its end. */
  nested: {
    files: {
      'baton.toml': '',
      'notes.txt': 'The token lives for an hour.\n',
      'ask.md': `+++
model = "gpt-5-mini"
context_globs = ["*.txt"]
sub_agents = [{ name = "agents/guess.md" }, { name = "agents/try.lua", stage = "post" }]
+++
Think about: the notes
`,
      'agents/guess.md': `+++
model = "gpt-5-mini"
+++
Think about: a guess
`,
      'agents/try.lua': `
local ok = pcall(aip.file.load, "missing.txt")
aip.file.save("out/tried.txt", tostring(ok) .. "\\n")
return { agent_result = ok }
`,
    },
    args: ['run', 'ask.md'],
    stop: { match: '"k":"run.end"', at: 1, when: 'before' },
  },
}
