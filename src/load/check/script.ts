import { ownIssues } from '../../agent/own-issues.ts'
import { type OwnOptions, readOwnOptions } from '../../agent/own-options.ts'
import { mayGiveTools } from '../../agent/tool-names.ts'
import type { Plugins } from '../../agent/plugins/plugin.ts'
import type { SourcePlace } from '../../base/error.ts'
import { editDistance } from '../../base/suggest.ts'
import type { Issue } from '../../config/issue.ts'
import type { ServersOfPack } from '../../config/left-out-servers.ts'
import type { AgentFile, ScriptFile } from '../../pack/resolve.ts'
import { type AipDocument, isSectionHeading, parseAip, placeOfOption, readCacheOption } from '../../prompt/aip.ts'
import { loadTemplates } from '../../prompt/template.ts'
import { checkLua, type LuaSurroundings } from './lua-source.ts'
import type { NamedModel } from './models.ts'
import { type Problem, problemOf, problemsOfError } from './problem.ts'

export interface CheckedScript {
  readonly problems: readonly Problem[]
  readonly agents: readonly { readonly name: string; readonly trail: readonly SourcePlace[] }[]
  readonly models: readonly NamedModel[]
}

interface ScriptSurroundings extends Omit<LuaSurroundings, 'agent'> {
  readonly plugins: () => Promise<Plugins>
  /** The MCP servers available to it. */
  readonly servers: ServersOfPack
  /** The lines that led to the agent, innermost first. */
  readonly trail: readonly SourcePlace[]
}

/**
 * Checks everything of a script agent that can be checked without running it: options, templates, code, and its
 * modules.
 */
export async function checkScript(agent: ScriptFile, around: ScriptSurroundings): Promise<CheckedScript> {
  if (agent.kind === 'lua') return { ...(await checkCode(agent, [agent.text], around)), models: [] }
  const document = parseAip(agent.file, agent.text)
  const { beforeAll, data, output, afterAll } = document
  const sections = [beforeAll, data, output, afterAll].flatMap((block) => block?.text ?? [])
  const code = await checkCode(agent, sections, around)
  const options = await checkOptions(agent, document, around)
  const headings = headingIssues(agent, document).map((issue) =>
    problemOf(issue, { severity: 'warning', file: agent.file, trail: around.trail }),
  )
  const templates = await checkTemplates(agent, document, around.trail)
  return {
    ...code,
    problems: [...options.problems, ...headings, ...templates, ...code.problems],
    models: options.models,
  }
}

async function checkCode(
  agent: ScriptFile,
  sections: readonly string[],
  { trail, ...around }: ScriptSurroundings,
): Promise<Omit<CheckedScript, 'models'>> {
  const { file, text } = agent
  const checked = []
  for (const code of sections) checked.push(await checkLua({ file, text, code, trail }, { ...around, agent }))
  return { problems: checked.flatMap(({ problems }) => problems), agents: checked.flatMap(({ agents }) => agents) }
}

async function checkOptions(
  { file, text }: AgentFile,
  document: AipDocument,
  { trail, plugins, servers, workspace }: Pick<ScriptSurroundings, 'trail' | 'plugins' | 'servers' | 'workspace'>,
): Promise<Pick<CheckedScript, 'problems' | 'models'>> {
  try {
    const own = await readOwnOptions({ file, text }, document)
    const { values, unknown, placeOf } = own
    const issues = await ownIssues(own, { plugins, servers: servers.names, leftOut: servers.leftOut })
    const problems = [
      ...issues.map((issue) => problemOf(issue, { severity: 'error', file, trail })),
      ...unknown.map((issue) => problemOf(issue, { severity: 'warning', file, trail })),
      ...(await ruleWarnings(own, workspace)).map((issue) => problemOf(issue, { severity: 'warning', file, trail })),
    ]
    const { model } = values
    if (typeof model !== 'string') return { problems, models: [] }
    const aliases = values['model_aliases'] as Readonly<Record<string, string>> | undefined
    const tools = Array.isArray(values['tools']) ? values['tools'].map(String) : []
    const brought = tools.length === 0 ? [] : (await plugins()).tools.map((tool) => tool.name)
    const usesTools = mayGiveTools({ tools, writes: true, brought, servers: servers.names })
    const named = { name: model, usesTools, placeOf: () => placeOf(['model'], 'value') }
    return { problems, models: [aliases === undefined ? named : { ...named, aliases }] }
  } catch (error) {
    return { problems: problemsOfError(error, { file, trail }), models: [] }
  }
}

/** The pattern parsers are only loaded for agents with rules. */
async function ruleWarnings({ rules }: OwnOptions, workspace: string): Promise<readonly Issue[]> {
  if (rules.length === 0) return []
  return (await import('../rule-problems.ts')).agentRuleProblems(rules, workspace)
}

async function checkTemplates(
  { file, text }: AgentFile,
  { parts }: AipDocument,
  trail: readonly SourcePlace[],
): Promise<readonly Problem[]> {
  if (parts.length === 0) return []
  const templates = await loadTemplates()
  const lines = text.split('\n')
  const problems: Problem[] = []
  for (const { content, optionText, line } of parts) {
    const place = placeOfOption({ file, text, line }, lines)
    const wrong = [
      ...(optionText === undefined ? [] : templates.problems(optionText, place)),
      ...templates.problems(content, { file, text, line: line + 1 }),
    ]
    problems.push(...wrong.flatMap((error) => problemsOfError(error, { file, trail })))
    // an option string with expressions is known only when it is rendered
    if (optionText === undefined || optionText.includes('{{')) continue
    problems.push(...(await inlineProblems(optionText, { place, trail })))
  }
  return problems
}

async function inlineProblems(
  optionText: string,
  { place, trail }: { readonly place: SourcePlace; readonly trail: readonly SourcePlace[] },
): Promise<readonly Problem[]> {
  try {
    await readCacheOption(optionText, place)
    return []
  } catch (error) {
    return problemsOfError(error, { file: place.file, trail })
  }
}

const sections = ['Options', 'Before All', 'Data', 'System', 'User', 'Instruction', 'Assistant', 'Output', 'After All']

/** Headings of an agent that are probably misspelled sections, and an agent without any section. */
function headingIssues({ file, text }: AgentFile, document: AipDocument): readonly Issue[] {
  const misspelt = headings(text).flatMap(({ heading, line }): readonly Issue[] => {
    const meant = sections.find((name) => editDistance(heading.toLowerCase(), name.toLowerCase(), 1) === 1)
    if (meant === undefined) return []
    const place = { file, text, line, column: 1, endLine: line, endColumn: heading.length + 3 }
    const message = `the heading "# ${heading}" does not start a section`
    return [{ code: 'CONFIG_INVALID', message, hint: `Did you mean "# ${meant}"?`, place }]
  })
  const { beforeAll, data, output, afterAll, parts } = document
  if (misspelt.length > 0 || parts.length > 0 || (beforeAll ?? data ?? output ?? afterAll) !== undefined)
    return misspelt
  const hint = 'Start a section with a heading such as # Output and a ```lua block, or # User and text.'
  const message = 'the agent has no section that does anything'
  return [{ code: 'CONFIG_INVALID', message, hint, place: { file, text, line: 1 } }]
}

/** Level-1 headings outside of fences that do not start a section. */
function headings(text: string): readonly { readonly heading: string; readonly line: number }[] {
  const found: { heading: string; line: number }[] = []
  let isOpen = false
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.startsWith('```')) isOpen = !isOpen
    const heading = /^# (\S.*)$/.exec(line)?.[1]
    if (!isOpen && heading !== undefined && !isSectionHeading(line)) found.push({ heading, line: index + 1 })
  }
  return found
}
