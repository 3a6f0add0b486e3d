import { basename } from 'node:path'
import type { CommandLine } from '../../event/agent.ts'

/** How to log in to each known program. */
const logins: { readonly [program: string]: string } = {
  claude: 'Run claude and type /login there, or set ANTHROPIC_API_KEY.',
  codex: 'Run codex login, or set the key that its provider wants, such as OPENAI_API_KEY.',
  gemini: 'Run gemini and log in there, or set GEMINI_API_KEY.',
  opencode: 'Run opencode auth login, or set the API key of the provider of its model.',
}

/** Texts with which programs report missing credentials. */
const askingWords = [
  String.raw`\bnot (?:logged|signed) in\b`,
  String.raw`\bplease (?:run )?["'\x60]?(?:\/login|log ?in|sign ?in|authenticate)\b`,
  String.raw`\bset an auth method\b`,
  String.raw`\brun ["'\x60]?[\w-]+ (?:auth )?login\b`,
  String.raw`\b(?:invalid|incorrect|missing|no) (?:x-)?api[- ]key\b`,
  String.raw`\bmissing environment variable: ?["'\x60]?\w*(?:key|token)\b`,
  String.raw`\bauthentication (?:is )?(?:required|failed|error)\b`,
  String.raw`\bauthentication_error\b`,
  String.raw`\b401 unauthorized\b`,
]

const asking = new RegExp(askingWords.join('|'), 'i')

/** Whether a text asks for a login. */
export function wantsLogin(text: string): boolean {
  return asking.test(text)
}

/** The hint for a missing login. */
export function loginHint({ preset, command }: Pick<CommandLine, 'preset' | 'command'>): string {
  const name = preset ?? basename(command)
  return Object.hasOwn(logins, name)
    ? (logins[name] ?? '')
    : `Log in with ${name} manually: Baton runs it without a terminal, so it cannot ask you.`
}
