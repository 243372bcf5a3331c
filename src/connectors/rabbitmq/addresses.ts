/** Whether a text is `amqp://user:password@host:port/vhost`, or `amqps://…`. */
export function isAmqpUrl(text: string): boolean {
  if (!/^amqps?:\/\//i.test(text) || !URL.canParse(text)) return false;
  return new URL(text).hostname !== '';
}

/** The address without its login. An empty path is the vhost `/`. */
export function rabbitmqUri(url: string, query: string): string {
  const { protocol, hostname, port, pathname } = new URL(url);
  const usual = protocol === 'amqps:' ? '5671' : '5672';
  const vhost = pathname === '/' ? '' : pathname;
  return `rabbitmq://${hostname}:${port === '' ? usual : port}${vhost}?${query}`;
}
