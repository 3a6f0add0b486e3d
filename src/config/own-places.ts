import { dirname } from 'node:path'
import { closeOwnFolder, refuseOthers } from '../base/own-folder.ts'
import { type Surroundings, userConfigFile, userDataFolder, userMcpFile } from './locate.ts'

const hint = 'Set BATON_HOME, or XDG_CONFIG_HOME and XDG_DATA_HOME, to a folder of your own.'

/**
 * Makes sure that only the user has written the user's config, and what else decides what runs. Config is made by people,
 * often as a link into a folder of theirs: it is only looked at.
 * @throws BatonError UNTRUSTED
 */
export function secureOwnPlaces(around: Pick<Surroundings, 'env' | 'home'>): void {
  const config = userConfigFile(around)
  refuseOthers(dirname(config), { what: 'the config folder', hint })
  refuseOthers(config, { what: 'the config file', hint })
  refuseOthers(userMcpFile(around), { what: 'your file of MCP servers', hint })
  secureDataFolder(userDataFolder(around))
}

/** The same for the folder of packs and lists alone. */
export function secureDataFolder(folder: string): void {
  closeOwnFolder(folder, { what: 'the data folder', hint })
}
