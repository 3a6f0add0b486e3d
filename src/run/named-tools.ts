import { unknownDisallowed, unknownTools } from '../agent/tool-names.ts'
import { pluginsOf } from './check-mode.ts'
import { type Issue, throwIssues } from '../config/issue.ts'
import { placeOrigins } from '../config/layers.ts'
import type { RunSpec } from '../config/run-spec.ts'

/** What is wrong with the names of tools of a prompt file and the config around it, each where it is written. */
export async function toolIssues({
  settings,
  origins,
}: Pick<RunSpec, 'settings' | 'origins'>): Promise<readonly Issue[]> {
  const { tools = [], disallowed_tools: disallowed = [] } = settings
  const brought = (await pluginsOf(settings)).tools.map(({ name }) => name)
  const findings = [
    ...unknownTools(tools, ['tools'], brought),
    ...unknownDisallowed(disallowed, ['disallowed_tools'], brought),
  ]
  return placeOrigins(findings, origins)
}

/** @throws BatonError CONFIG_INVALID, NOT_AVAILABLE for tools that are not known */
export async function checkNamedTools(spec: RunSpec): Promise<void> {
  throwIssues(await toolIssues(spec))
}
