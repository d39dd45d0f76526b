/** This machine. */

import { spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import { homedir } from 'node:os'
import { CacheError } from '@watchglass/base'
import type { KubeconfigSystem, PluginEnd, PluginProgram } from './system.ts'

/** Above every kubeconfig: one of a thousand clusters with certificates has 8 MB. */
const fileMaxBytes = 32 * 1024 * 1024
const pieceBytes = 64 * 1024

export function nodeSystem(env: NodeJS.ProcessEnv = process.env): KubeconfigSystem {
  return {
    env,
    // kubectl looks at HOME first, too.
    homeFolder: env['HOME'] ?? homedir(),
    // Undefined where it is none, whatever its type says.
    isTerminal: Boolean(process.stdin.isTTY),
    readFile: readBounded,
    run,
  }
}

/** Reads up to a bound: a path may be a pipe, as in `--kubeconfig <(pass kubeconfig)`, or without
 *  an end, as /dev/zero. */
async function readBounded(path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    const pieces: Buffer[] = []
    let bytes = 0
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(pieceBytes), 0, pieceBytes)
      if (bytesRead === 0) return Buffer.concat(pieces)
      bytes += bytesRead
      if (bytes > fileMaxBytes) {
        throw new CacheError('invalid_request', `it has more than ${fileMaxBytes} bytes`)
      }
      pieces.push(buffer.subarray(0, bytesRead))
    }
  } finally {
    await file.close()
  }
}

function run(program: PluginProgram): Promise<PluginEnd> {
  const { command, args, isInteractive, maxMs, outputMaxBytes } = program
  return new Promise(resolve => {
    const child = spawn(command, args, {
      env: program.env,
      stdio: [isInteractive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    })
    const pieces: Buffer[] = []
    let bytes = 0
    const end = (how: PluginEnd): void => {
      clearTimeout(timer)
      // A grandchild may hold the other end of the pipe open for ever.
      child.stdout.destroy()
      child.kill('SIGKILL')
      resolve(how)
    }
    const timer = setTimeout(() => end({ type: 'late' }), maxMs)
    child.stdout.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > outputMaxBytes) end({ type: 'verbose' })
      else pieces.push(piece)
    })
    child.on('error', (error: NodeJS.ErrnoException) => {
      end(error.code === 'ENOENT' ? { type: 'missing' } : { type: 'failed', reason: error.message })
    })
    child.on('close', (code, signal) => {
      if (signal !== null) end({ type: 'signalled', signal })
      else end({ type: 'exited', code: code ?? 0, output: Buffer.concat(pieces).toString() })
    })
  })
}
