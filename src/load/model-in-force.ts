import type { Settings } from '../config/settings.ts'
import { createProvider } from '../model/create.ts'
import { findLocalModel } from '../model/local.ts'
import { chooseModelFor } from '../model/select.ts'
import { loadModelTable } from '../model/table.ts'

/** The model that a run would ask. */
export interface ModelInForce {
  /** `provider::name`. */
  readonly label: string
  /** It quotes the given files instead of asking a model. */
  readonly isOffline: boolean
  /** That one, because no model is configured. */
  readonly isFallback: boolean
}

/**
 * The model that a name stands for; without one, the model that is used then. Nothing is sent, except to servers of this
 * machine if nothing else decides.
 * @throws BatonError as `chooseModelFor` does, and KEY_MISSING
 */
export async function modelInForce(
  name: string | undefined,
  { providers, gateway, model_aliases: aliases }: Pick<Settings, 'providers' | 'gateway' | 'model_aliases'>,
  {
    tableFile,
    env,
    signal,
    isAttended,
  }: {
    /** `agents/models.toml`, absolute. */
    readonly tableFile: string
    readonly env: Readonly<Record<string, string | undefined>>
    readonly signal: AbortSignal
    readonly isAttended: boolean
  },
): Promise<ModelInForce> {
  const choice = await chooseModelFor(
    name,
    { env, providers, gateway, aliases },
    {
      loadTable: () => loadModelTable(tableFile),
      findLocal: () => findLocalModel({ env, signal }),
      isAttended,
    },
  )
  // finds a key that is missing
  await createProvider(choice, { env })
  const isOffline = choice.provider.kind === 'offline'
  return { label: choice.label, isOffline, isFallback: isOffline && choice.notice !== undefined }
}
