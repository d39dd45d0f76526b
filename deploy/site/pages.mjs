/** The pages of the site, in the order of its menu. Each is a document of the repository and stays
 *  where it is: no page is a copy. */
export const menu = [
  {
    name: 'Begin',
    pages: [
      'README.md',
      'docs/README.md',
      'docs/START.md',
      'docs/COMPARED.md',
      'docs/RESULTS.md',
      'docs/WALKS.md',
    ],
  },
  {
    name: 'Run',
    pages: [
      'deploy/README.md',
      'docs/OPTIONS.md',
      'docs/ACCESS.md',
      'docs/VIEWS.md',
      'docs/PROXY.md',
      'docs/CLUSTERS.md',
      'docs/TIERS.md',
      'docs/BALANCERS.md',
      'docs/SIDECAR.md',
      'docs/ETCD.md',
      'deploy/helm/watchglass/README.md',
      'docs/SIZING.md',
      'docs/METRICS.md',
      'docs/TROUBLESHOOTING.md',
      'docs/UPGRADE.md',
      'docs/SECURITY.md',
      'docs/GUARANTEES.md',
    ],
  },
  { name: 'Test', pages: ['docs/TESTING.md', 'docs/LOADTEST.md'] },
  {
    name: 'Inside',
    pages: [
      'lib/ARCHITECTURE.md',
      'lib/base/README.md',
      'lib/go/README.md',
      'lib/store/README.md',
      'lib/etcd/README.md',
      'lib/codec/README.md',
      'lib/codec/schema/FORMAT.md',
      'lib/kube/README.md',
      'lib/cache/README.md',
      'lib/proxy/README.md',
      'lib/kubeconfig/README.md',
      'lib/source/README.md',
      'lib/workers/README.md',
      'lib/views/README.md',
      'lib/etcd-server/README.md',
      'lib/cel/README.md',
      'lib/writes/README.md',
      'lib/simulator/README.md',
      'lib/cli/README.md',
      'bench/README.md',
    ],
  },
  {
    name: 'Take part',
    pages: [
      'CONTRIBUTING.md',
      'GOVERNANCE.md',
      'MAINTAINERS.md',
      'CODE_OF_CONDUCT.md',
      'ROADMAP.md',
      'ADOPTERS.md',
      'CHANGELOG.md',
      'deploy/releases/v0.1.0.md',
      'deploy/releases/before-0.1.0.md',
    ],
  },
  { name: 'Trust', pages: ['SUPPORT.md', 'SECURITY.md', 'VERIFY.md'] },
]

/** The file of a page: README.md is the index of its folder. */
export function fileOf(document) {
  return document.replace(/(^|\/)README\.md$/, '$1index.html').replace(/\.md$/, '.html')
}
