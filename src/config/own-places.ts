import { dirname } from 'node:path'
import { makeFolderPrivate, refuseForeignPath } from '../base/private-folder.ts'
import { type Surroundings, userConfigFile, userDataFolder, userMcpFile } from './locate.ts'

const hint = 'Set BATON_HOME, or XDG_CONFIG_HOME and XDG_DATA_HOME, to your own folder.'

/**
 * Makes sure that nobody but the user could have written the user's config and the other files that decide what runs.
 * The config is only checked, not changed: people create it themselves, often as a link into another folder.
 * @throws BatonError UNTRUSTED
 */
export function secureOwnPlaces(around: Pick<Surroundings, 'env' | 'home'>): void {
  const config = userConfigFile(around)
  refuseForeignPath(dirname(config), { what: 'the config folder', hint })
  refuseForeignPath(config, { what: 'the config file', hint })
  refuseForeignPath(userMcpFile(around), { what: 'your file of MCP servers', hint })
  secureDataFolder(userDataFolder(around))
}

/** The same for the folder of packs and lists alone. */
export function secureDataFolder(folder: string): void {
  makeFolderPrivate(folder, { what: 'the data folder', hint })
}
