import { BatonError } from '../../base/error.ts'
import type { OpenPrompt } from '../open-prompt.ts'
import type { Turns } from '../turns.ts'
import type { ExecutionMode, ExecutorOptions, ModeLoop, PromptExecutor, PromptWork } from './mode.ts'

/** The executor of a prompt in a mode of a plug-in, which has a loop of its own. */
export function createPluginExecutor(
  mode: ExecutionMode,
  prompt: OpenPrompt,
  turns: Turns,
  options: Omit<ExecutorOptions, 'services'>,
): PromptExecutor {
  const work = workOf(prompt, turns)
  const executor = (loop: ModeLoop): PromptExecutor => executorOf(loop, work, prompt, turns)
  return mode.createExecutor({ ...options, services: { ...work, executor } })
}

function workOf(prompt: OpenPrompt, turns: Turns): PromptWork {
  const { id, signal, timeline, say, warn, usage, begin } = prompt
  const { log, tools, offered, output } = turns
  let mayNotAsk = false
  return {
    id,
    signal,
    messages() {
      begin()
      return log.all()
    },
    addMessages(messages) {
      begin()
      log.add(messages)
    },
    tools,
    offered,
    ...(output === undefined ? {} : { output }),
    prepare: async ({ instructions } = {}) => prompt.prepare(instructions),
    async ask(how) {
      begin()
      if (mayNotAsk) {
        throw new BatonError('LIMIT', 'the agent has reached its limit of model requests (max_turns)', {
          hint: 'Raise max_turns.',
        })
      }
      const reply = await turns.ask(prompt, how)
      mayNotAsk = reply.isLast
      return reply
    },
    askAgain: turns.askAgain,
    endsHere: turns.endsHere,
    hasMail: () => turns.hasMail(signal),
    runTools: (calls) => turns.runTools(prompt, calls),
    program: (start, run) => turns.runProgram(prompt, { ...start, run }),
    refuseCalls: turns.refuse,
    timeline,
    say,
    warn,
    usage,
  }
}

function executorOf(loop: ModeLoop, work: PromptWork, prompt: OpenPrompt, turns: Turns): PromptExecutor {
  return {
    id: prompt.id,
    userId: prompt.userId,
    get prompt() {
      return prompt.now()
    },
    get state() {
      return prompt.state()
    },
    get usage() {
      return prompt.usage()
    },
    async run() {
      try {
        return prompt.complete(await loop(work))
      } catch (error) {
        prompt.fail(error)
        throw error
      }
    },
    approve: turns.approve,
    reject: turns.reject,
  }
}
