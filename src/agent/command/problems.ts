import { basename } from 'node:path'
import { durationText } from '../../base/clock.ts'
import { cutText } from '../../base/cut-text.ts'
import { BatonError, type ErrorReason } from '../../base/error.ts'
import { sizeText } from '../../base/size.ts'
import { harmless } from '../../base/terminal-text.ts'
import type { CommandAgent } from '../../event/agent.ts'
import type { Heard } from './listen.ts'
import { loginHint, wantsLogin } from './login.ts'
import { type CommandEnd, mostPrinted } from './process.ts'

export interface EndedCommand {
  readonly agent: CommandAgent
  readonly end: CommandEnd
  readonly heard: Heard
  /** The time limit, and whether it is that of all agents. */
  readonly limit: { readonly ms: number; readonly isUsual: boolean } | undefined
}

/**
 * The error of a program run without an answer; undefined if it has one (R315). AGENT_FAILED: it could not be started,
 * crashed, reported a failure, or printed nothing readable; LIMIT: it took too long or printed too much; KEY_MISSING:
 * it requires a login.
 */
export function commandProblem({ agent, end, heard, limit }: EndedCommand): BatonError | undefined {
  const { name, line } = agent
  const who = `agent "${name}"`
  const said = lastWords(heard.failure ?? end.words)
  const failed = (what: string, hint: string, reason?: ErrorReason): BatonError =>
    new BatonError('AGENT_FAILED', `${who} ${what}`, { hint, reason })
  if (end.kind === 'not_started')
    return failed(
      `cannot be started: ${notStarted(end.reason, line.command)}`,
      installHint(agent),
      'AGENT_SPAWN_FAILED',
    )
  const login = loginText({ end, heard })
  if (login !== undefined) {
    const hint = loginHint(line)
    return new BatonError('KEY_MISSING', `${who} requires a login: ${lastWords(login)}`, { hint })
  }
  switch (end.kind) {
    case 'timed_out':
      return new BatonError('LIMIT', `${who} took longer than ${limitText(limit)}${saying(said)}`, {
        reason: 'AGENT_TIMEOUT',
        hint: `Raise ${limit?.isUsual === true ? 'agent in [timeouts]' : `timeout of [agents.${name}]`} if it needs more time.`,
      })
    case 'flooded':
      return new BatonError(
        'LIMIT',
        `${who} printed more than ${sizeText(mostPrinted)} and was stopped${saying(said)}`,
        {
          hint: 'Make the program print only its answer.',
        },
      )
    case 'killed':
      return failed(`was killed by ${end.signal}${saying(said)}`, byHand(agent), 'AGENT_CRASHED')
    case 'exited':
      if (heard.failure !== undefined) return failed(`failed: ${said}`, byHand(agent))
      if (end.code !== 0) return failed(`exited with code ${end.code}${saying(said)}`, byHand(agent), 'AGENT_CRASHED')
  }
  if (heard.text.trim() !== '') return undefined
  if (heard.junk === undefined) return failed(`gave no answer${saying(said)}`, byHand(agent))
  const hint = `Check that it is ${line.preset ?? 'that program'}, in a version that prints events. ${byHand(agent)}`
  return failed(`printed no readable answer, but ${JSON.stringify(heard.junk.line)}`, hint)
}

/** Longer texts are answers about logging in. */
const shortText = 400

/** The text that asks for a login. A program may print one and still exit with code 0. */
function loginText({ end, heard }: Pick<EndedCommand, 'end' | 'heard'>): string | undefined {
  const { text, failure } = heard
  const isDone = end.kind === 'exited' && end.code === 0 && failure === undefined
  const isAnswered = isDone && text.trim() !== ''
  const texts = isAnswered ? [] : [failure ?? '', end.words]
  // a known program reports failures, so its text is an answer; another one has only its text
  if (heard.session === undefined && text.length <= shortText) texts.push(text)
  return texts.find((one) => wantsLogin(one))
}

/** The last lines of a program's output, joined into one. */
function lastWords(words: string): string {
  const lines = harmless(words)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return cutText(lines.slice(-5).join(' · '), 1_000)
}

function saying(words: string): string {
  return words === '' ? '' : `: ${words}`
}

function limitText(limit: EndedCommand['limit']): string {
  if (limit === undefined) return 'it may'
  return `${limit.isUsual ? 'agent in [timeouts]' : 'its timeout'}, ${durationText(limit.ms)}`
}

function notStarted(reason: string, command: string): string {
  if (!/ENOENT/.test(reason)) return reason
  return command.includes('/') ? `there is no program ${command}` : `there is no program "${command}" in PATH`
}

const packages: { readonly [program: string]: string } = {
  claude: '@anthropic-ai/claude-code',
  codex: '@openai/codex',
  gemini: '@google/gemini-cli',
  opencode: 'opencode-ai',
}

function installHint({ name, line }: CommandAgent): string {
  const known = packages[line.preset ?? basename(line.command)]
  const install = known === undefined ? 'Install it' : `Install it with npm install -g ${known}`
  return `${install}, or name another program as command in [agents.${name}].`
}

function byHand({ line }: CommandAgent): string {
  return `Run ${line.command} yourself to see what it does.`
}
