import { resolve } from 'node:path'
import { displayPath } from '../base/files.ts'
import { checkFileName } from './new-name.ts'
import { shellWord } from '../base/shell-word.ts'
import type { NextStep, Starter } from './starter.ts'

interface PromptOptions {
  readonly cwd: string
  readonly workspace: string
  /** The text of a ready prompt file, to be taken as it is. */
  readonly copied: string | undefined
}

/**
 * A prompt file at `name`, relative to `cwd`, with `.md` behind it. Its comments explain the keys, and it
 * runs as it is.
 * @throws BatonError USAGE for a name that no file can have
 */
export function promptStarter(name: string, { cwd, workspace, copied }: PromptOptions): Starter {
  checkFileName(name, 'prompt')
  const path = resolve(cwd, name.endsWith('.md') ? name : `${name}.md`)
  const file = shellWord(displayPath(cwd, path))
  return {
    files: [{ path, text: copied ?? promptText(displayPath(workspace, path)) }],
    next: [
      { kind: 'command', command: `baton check ${file}` },
      ...(copied === undefined || runsWithoutModel(copied) ? [offline(file)] : []),
      { kind: 'command', command: `baton ${file}`, note: 'with a key or a local server' },
    ],
  }
}

/** Ready prompt files may need a model; those that do not say how they are run without. */
function runsWithoutModel(text: string): boolean {
  return text.includes('offline::extractive')
}

function offline(file: string): NextStep {
  const command = `baton ${file} -m offline::extractive`
  return { kind: 'command', command, note: 'quotes from your files, without a key' }
}

function promptText(file: string): string {
  return `+++
# What this file is for, in one line.

# Files whose content the model reads. Globs start in the folder of the project; "!…" leaves out.
# context_globs = ["README.md", "src/**/*.ts"]

# The model: an alias (normal, high, fast), a name, or provider::name. Without one the first key in the environment
# decides, then a local server.
# model = "normal"

# Let the answer change files of the project.
# write_mode = true

# One answer for each file that matches.
# working_globs = ["src/*.ts"]

# Agents that work on the request before the model, or on its answer. All there are: baton list
sub_agents = [
  # Finds the files that the instruction is about and adds them to context_globs.
  { name = "context-builder", globs = ["**/*", ${JSON.stringify(`!${file}`)}], max_files = 4 },
  # Looks up every file:line that the answer names.
  { name = "reference-checker", stage = "post_task" },
]

# Values for the agents.
# [params]
# tone = "short"
+++
What is this project for, and which file should a newcomer read first?
`
}
