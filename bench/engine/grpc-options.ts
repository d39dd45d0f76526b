/** The connections of grpc-js that our client is compared with: as they would be made for etcd. */

import type { ChannelOptions } from '@grpc/grpc-js'

export const channelOptions: ChannelOptions = {
  'grpc.use_local_subchannel_pool': 1,
  'grpc.max_receive_message_length': -1,
  'grpc-node.flow_control_window': 8 * 1024 * 1024,
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_http_proxy': 0,
}
