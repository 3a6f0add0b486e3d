import { homedir, userInfo } from 'node:os'
import { isAbsolute } from 'node:path'

/**
 * The user's home folder. An empty or relative `HOME` is ignored: then it is the one the system reports, or a folder
 * that does not exist.
 */
export function homeFolder(home = homedir()): string {
  if (isAbsolute(home)) return home
  try {
    const known = userInfo().homedir
    return isAbsolute(known) ? known : noHome
  } catch {
    return noHome
  }
}

const noHome = '/nonexistent'
