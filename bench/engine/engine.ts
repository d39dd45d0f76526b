/** `npm run bench -- engine`: both ends of the etcd protocol, against a real etcd. */

import type { Bench, BenchOptions, BenchResult } from '../bench.ts'
import { measureIngest } from './ingest.ts'
import { measureServing } from './serving.ts'

export const engineBench: Bench = {
  name: 'engine',
  summary: 'The embedded etcd beside a real one, and the client against bare grpc-js.',
  async run(options: BenchOptions): Promise<BenchResult> {
    const serving = await measureServing(options)
    const ingest = await measureIngest(options)
    return {
      tables: [serving.table, ...ingest.tables],
      floors: ingest.floors,
      resultHash: `${serving.hash} ${ingest.resultHash}`,
    }
  },
}
