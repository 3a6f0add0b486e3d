import { type Issue, meantHint, throwIssues, wrongValue } from '../config/issue.ts'
import { placeOrigins } from '../config/layers.ts'
import { leftOutHint, whyLeftOut } from '../config/left-out-servers.ts'
import type { RunSpec } from '../config/run-spec.ts'
import { splitResource } from '../mcp/context-resources.ts'
import { serverNames } from './other-tools.ts'

type ResourceSpec = Pick<RunSpec, 'settings' | 'origins' | 'leftOut'>

/** Servers in `context_resources` that nobody knows, or whose file is not trusted. No server is asked. */
export async function resourceIssues({ settings, origins, leftOut }: ResourceSpec): Promise<readonly Issue[]> {
  const servers = serverNames(settings)
  const issues = (settings.context_resources ?? []).map(async (entry, index): Promise<readonly Issue[]> => {
    const name = splitResource(entry)?.server ?? ''
    if (servers.includes(name)) return []
    const untrusted = leftOut.find(({ names }) => names.includes(name))
    if (untrusted !== undefined) {
      const { file, isChanged } = untrusted
      const message = `context_resources names the server "${name}" of ${file}, and ${whyLeftOut(isChanged)}`
      return [{ code: 'UNTRUSTED', message, hint: leftOutHint({ file }), place: { file } }]
    }
    const message = `context_resources[${index}]: there is no MCP server "${name}"`
    const hint = meantHint(
      name,
      servers,
      `Write "SERVER:URI", and name the server in [mcp_servers] of your config file.`,
    )
    return placeOrigins([wrongValue(['context_resources', index], { message, hint })], origins)
  })
  return (await Promise.all(issues)).flat()
}

/** @throws BatonError CONFIG_INVALID, UNTRUSTED for servers that cannot be asked */
export async function checkNamedResources(spec: ResourceSpec): Promise<void> {
  throwIssues(await resourceIssues(spec))
}
