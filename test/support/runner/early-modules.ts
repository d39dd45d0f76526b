/** Imported first by the programs that tests start: loads the code of `serve` in one go. Node 20
 *  reads the modules of an `import` one by one in other threads, which takes a program an eighth
 *  more of the processor to start. */

import { createRequire } from 'node:module'

const [, program = '', command, ...args] = process.argv
const emitWarning = process.emitWarning.bind(process)
// Node says of each such load that it is experimental.
process.emitWarning = () => {}
const load = createRequire(new URL('../../../lib/', import.meta.url))
for (const module of modules()) load(`./${module}.js`)
process.emitWarning = emitWarning

/** The modules that are going to be loaded, in short. */
function modules(): string[] {
  if (program.endsWith('/commands/face-thread.js')) {
    return ['threads/threads', 'commands/plan/serve-plan']
  }
  if (command !== 'serve') return []
  const text = args.join(' ')
  const has = (pattern: RegExp): boolean => pattern.test(text)
  return [
    'commands/serve',
    ...(has(/--etcd[= ]http/) ? ['etcd/grpc/client'] : ['door/embedded']),
    ...(has(/--upstream/) ? ['front/front'] : []),
    ...(has(/--upstream|--read-only/) ? [] : ['cluster/write-side']),
    ...(has(/--threads/) ? ['threads/threads'] : []),
    ...(has(/--generate/) ? ['cluster/generate/generator'] : []),
  ]
}
