import t from 'tap'
import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import { clientContract } from '../../contract/client.ts'
import { startEtcd } from '../../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../support/etcd/real-etcd.ts'

for (const minor of ['3.5', '3.4'] as const) {
  const etcd = await findEtcd(minor)
  t.test(`the gRPC client on etcd ${minor} keeps the contract`, { skip: etcd.skip }, async t => {
    const { endpoints } = await startEtcd(t, etcd)
    clientContract(t, () => new GrpcClient({ endpoints }))
  })
}
