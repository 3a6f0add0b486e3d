import type { Settings } from '../config/settings.ts'
import type { RunContext } from '../event/context.ts'
import type { ContextResource, ReadResources } from '../mcp/context-resources.ts'
import type { PromptParts } from './messages.ts'

/** The resources that settings name, with their contents. */
export type ResourcesOf = (settings: Pick<Settings, 'context_resources'>) => Promise<readonly ContextResource[]>

/**
 * The resources of one run of a prompt file: each is read once, at the place of the context. Most files name none, and
 * load no code for them.
 * @throws BatonError as `ReadResources` does
 */
export function createResources(context: RunContext): ResourcesOf {
  let reader: Promise<ReadResources> | undefined
  return async ({ context_resources: entries = [] }) => {
    if (entries.length === 0) return []
    reader ??= import('../mcp/context-resources.ts').then((loaded) => loaded.createResourceReader(context))
    return (await reader)(entries)
  }
}

/** Resources for messages: texts, and files that models take unchanged. */
export function showResources(resources: readonly ContextResource[]): Pick<PromptParts, 'resources' | 'attached'> {
  return {
    resources: resources.flatMap(({ path, content }) => (typeof content === 'string' ? [{ path, content }] : [])),
    attached: resources.flatMap(({ path, content }) => (typeof content === 'string' ? [] : [{ path, file: content }])),
  }
}
