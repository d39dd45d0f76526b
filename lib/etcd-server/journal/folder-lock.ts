/** The lock of a data folder: a Unix socket in it, on which the process that uses the folder
 *  listens. The system closes it however a process ends, so that no lock outlives its process, and
 *  no number of a process is taken for that of another one, in containers neither. */

import { chmod, open, stat, unlink } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { CacheError, type Logger } from '@watchglass/base'
import { codeOf, diskFailure } from './disk-failures.ts'
import { lockName } from './file-names.ts'

export interface FolderLock {
  /** Fails if another process has taken the folder in the same moment. */
  check(): Promise<void>
  release(): Promise<void>
}

/** The longest path that a socket can have everywhere. */
const pathMaxBytes = 100

/** Takes the folder; refuses one that is in use. */
export async function lockFolder(folder: string, logger: Logger): Promise<FolderLock> {
  const path = join(folder, lockName)
  const short = await shortened(folder)
  try {
    const server = await listenAt(join(short.folder, lockName), folder)
    server.unref()
    await chmod(path, 0o600)
    const own = (await stat(path)).ino
    return {
      async check() {
        const current = await stat(path).catch(() => undefined)
        if (current?.ino !== own) throw inUse(folder)
      },
      async release() {
        const closed = once(server, 'close')
        server.close()
        await closed
        await short.close()
      },
    }
  } catch (error) {
    await short.close()
    if (!hasNoSockets(error)) throw diskFailure(folder, error)
    logger.warn('the file system has no sockets: nothing guards a data folder there', { folder })
    return { check: async () => {}, release: async () => {} }
  }
}

/** Takes over the socket of a process that has ended. */
async function listenAt(path: string, folder: string): Promise<Server> {
  try {
    return await listen(path)
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE') throw error
  }
  if (await isAnswered(path)) throw inUse(folder)
  await unlink(path).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
  return listen(path).catch((error: unknown) => {
    throw codeOf(error) === 'EADDRINUSE' ? inUse(folder) : error
  })
}

async function listen(path: string): Promise<Server> {
  const server = createServer(socket => socket.destroy())
  server.listen(path)
  await once(server, 'listening')
  return server
}

async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    // Whoever may not ask cannot know.
    return !['ECONNREFUSED', 'ENOENT', 'ENOTSOCK'].includes(codeOf(error))
  } finally {
    socket.destroy()
  }
}

/** The folder under a name that is short enough for a socket in it. */
async function shortened(folder: string): Promise<{ folder: string; close(): Promise<void> }> {
  if (Buffer.byteLength(join(folder, lockName)) <= pathMaxBytes) {
    return { folder, close: async () => {} }
  }
  if (process.platform !== 'linux') {
    const message = `${folder} has too long a path, of more than ${pathMaxBytes - lockName.length - 1} bytes: name another folder`
    throw new CacheError('invalid_request', message)
  }
  const handle = await open(folder)
  return { folder: `/proc/self/fd/${handle.fd}`, close: () => handle.close() }
}

/** File systems of some virtual machines know files only. */
function hasNoSockets(error: unknown): boolean {
  return ['ENOTSUP', 'EOPNOTSUPP', 'EPERM'].includes(codeOf(error))
}

function inUse(folder: string): CacheError {
  return new CacheError(
    'invalid_request',
    `${folder} is in use by another process: stop that one, or name another folder`,
  )
}
