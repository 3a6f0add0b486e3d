import type { DataPath } from '../base/data-text.ts'
import { unknownDisallowed, unknownTools } from '../agent/tool-names.ts'
import { type Issue, placeFindings, throwIssues } from '../config/issue.ts'
import { placeOrigins } from '../config/layers.ts'
import { aboutServer, leftOutCode, leftOutHint, ownerOf, whyLeftOut } from '../config/left-out-servers.ts'
import type { RunSpec } from '../config/run-spec.ts'
import { otherToolsOf } from './other-tools.ts'

type ToolSpec = Pick<RunSpec, 'settings' | 'origins' | 'agents' | 'document' | 'leftOut' | 'ofPack'>

/** The invalid tool names of a prompt file and its config, each at its place. */
export async function toolIssues(spec: ToolSpec): Promise<readonly Issue[]> {
  const { settings, origins, document } = spec
  const { tools = [], disallowed_tools: disallowed = [] } = settings
  const { leftOut, ...own } = await otherToolsOf(spec)
  // unused servers get a more specific message
  const unread = leftOut.filter(({ names }) => names.length === 0)
  const others = { ...own, servers: [...own.servers, ...leftOut.flatMap(({ names }) => names)], leftOut: unread }
  const findings = [
    ...unknownTools(tools, ['tools'], others),
    ...unknownDisallowed(disallowed, ['disallowed_tools'], others),
  ]
  const given = toolLists(spec).flatMap(({ names, path }) => unknownTools(names, path, others))
  const { file, text, meta } = document
  return [
    ...leftOutIssues(spec, leftOut),
    ...(await placeOrigins(findings, origins)),
    ...(await placeFindings(given, { file, text, locate: meta.locate })),
  ]
}

/** Tools of servers whose file is not trusted, placed in that file, because it is the one to review. */
function leftOutIssues(spec: ToolSpec, leftOut: ToolSpec['leftOut']): readonly Issue[] {
  const { settings } = spec
  const named = [...(settings.tools ?? []), ...toolLists(spec).flatMap(({ names }) => names)]
  return leftOut.flatMap(({ names, ...why }) =>
    names
      .filter((server) => named.some((tool) => aboutServer(tool, server) === 'named'))
      .map((server): Issue => {
        const message = `tools names the server "${server}" of ${ownerOf(why)}, and ${whyLeftOut(why)}`
        return { code: leftOutCode(why), message, hint: leftOutHint(why), place: { file: why.file } }
      }),
  )
}

/** The tools that entries of `sub_agents` and steps of a workflow give their agents. */
export function toolLists({
  agents,
  settings,
}: Pick<ToolSpec, 'agents' | 'settings'>): readonly { readonly names: readonly string[]; readonly path: DataPath }[] {
  const entries = agents.flatMap(({ enabled, index, options }) =>
    enabled ? [{ options, path: ['sub_agents', index] }] : [],
  )
  const steps = (settings.workflow?.steps ?? []).map(({ index, options }) => ({
    options,
    path: ['workflow', 'step', index],
  }))
  return [...entries, ...steps].flatMap(({ options: { tools }, path }) =>
    // a value that is not a list of texts is reported when the options are checked
    Array.isArray(tools) && tools.every((name) => typeof name === 'string')
      ? [{ names: tools, path: [...path, 'options', 'tools'] }]
      : [],
  )
}

/** @throws BatonError CONFIG_INVALID, NOT_AVAILABLE for unknown tools */
export async function checkNamedTools(spec: RunSpec): Promise<void> {
  throwIssues(await toolIssues(spec))
}
