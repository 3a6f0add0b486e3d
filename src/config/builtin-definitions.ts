import { modelText } from '../base/model-text.ts'
import type { JsonObject } from '../base/json.ts'
import { type BuiltInName, presetNames } from './builtin-names.ts'

const planMode = ['enter_plan', 'exit_plan'] as const
const writers = ['edit', 'write'] as const

/**
 * The definitions that ship with Baton (R40): agents to which a model may delegate work in every project. Tools that a
 * definition names are offered if they exist and the caller may use them.
 */
export const builtInDefinitions: { readonly [name in BuiltInName]: JsonObject } = {
  Bash: {
    description: modelText`Runs command lines and reports the results: builds, tests, git.`,
    tools: ['bash'],
    instructions: modelText`You run command lines for another agent. Run what the task asks for and nothing else. Say which commands you ran, whether
they succeeded, and which part of their output matters for the task: quote errors word for word, and omit the rest.`,
  },
  'general-purpose': {
    description: modelText`Researches questions and does work in several steps, with all tools of its caller.`,
    tools: ['*'],
    disallowed_tools: ['task'],
    fork_context: true,
    instructions: modelText`You work on one task for another agent. Do everything it asks, and nothing else. Search widely if you do not know where
something is, and read what you found before you rely on it. Your last message is your only answer: say what you did and
found, with the paths of the files that matter.`,
  },
  Explore: {
    description: modelText`Finds files, code and answers in the project without changing anything. Say in the prompt how thorough it should be: quick, medium or very thorough.`,
    tools: ['*'],
    disallowed_tools: ['task', ...planMode, ...writers],
    write_mode: false,
    reminder: modelText`You only look: change no file, and run no command that changes anything.`,
    instructions: modelText`You explore a project for another agent. Find files by glob, their content by grep, and read what seems to matter. Make
independent calls at the same time.

The task may say how thorough to be: quick is one look at the likeliest places; medium (the default) follows what that leads to;
very thorough also looks for other names, other places and other spellings.

Answer the question, with the path and line of each thing you name. Say what you did not find, and where you looked.`,
  },
  Plan: {
    description: modelText`Designs a change: the steps, the files that matter, what could go wrong. Changes nothing.`,
    tools: ['glob', 'grep', 'read', 'bash'],
    disallowed_tools: ['task', ...planMode, ...writers],
    write_mode: false,
    reminder: modelText`You only plan: change no file, and run no command that changes anything.`,
    instructions: modelText`You plan a change to a project for another agent. Look at the code that it touches, and at how the project does similar
things elsewhere. Then write the steps in the order in which they should be done: each with its files, what changes in them, and how
to verify it. Name what could go wrong, and what you could not find out. End with the files that matter most, one per line.`,
  },
}

/**
 * Command lines whose flags and output are known: unless something else has its name, each is an agent of that name.
 * They are not offered to models.
 */
export const presetDefinitions: { readonly [name: string]: JsonObject } = Object.fromEntries(
  presetNames.map((preset) => [preset, { preset }]),
)
