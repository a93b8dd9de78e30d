package order

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/tidemall/tidemall/service/wechat"
)

// SpanWeChat makes a span of every call to WeChat within a recorded trace: it is what an order waits for longest. A span tells the
// number and the kind of error.
func SpanWeChat(to WeChat, tracer trace.Tracer) WeChat { return spanWeChat{to, tracer} }

type spanWeChat struct {
	WeChat
	tracer trace.Tracer
}

func (w spanWeChat) span(ctx context.Context, call, number string) (context.Context, func(error)) {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, func(error) {}
	}
	ctx, span := w.tracer.Start(ctx, "wechat "+call, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.String("wechat.number", number)))
	return ctx, func(err error) {
		if kind := wechat.KindOf(err); kind != "" {
			span.SetAttributes(attribute.String("error.type", string(kind)))
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

func (w spanWeChat) Prepay(ctx context.Context, req wechat.PrepayRequest) (string, error) {
	ctx, end := w.span(ctx, "prepay", req.OutTradeNo)
	id, err := w.WeChat.Prepay(ctx, req)
	end(err)
	return id, err
}

func (w spanWeChat) Query(ctx context.Context, outTradeNo string) (wechat.Transaction, error) {
	ctx, end := w.span(ctx, "query", outTradeNo)
	t, err := w.WeChat.Query(ctx, outTradeNo)
	end(err)
	return t, err
}

func (w spanWeChat) Close(ctx context.Context, outTradeNo string) error {
	ctx, end := w.span(ctx, "close", outTradeNo)
	err := w.WeChat.Close(ctx, outTradeNo)
	end(err)
	return err
}

func (w spanWeChat) Refund(ctx context.Context, req wechat.RefundRequest) (wechat.Refund, error) {
	ctx, end := w.span(ctx, "refund", req.OutRefundNo)
	r, err := w.WeChat.Refund(ctx, req)
	end(err)
	return r, err
}

func (w spanWeChat) QueryRefund(ctx context.Context, outRefundNo string) (wechat.Refund, error) {
	ctx, end := w.span(ctx, "query refund", outRefundNo)
	r, err := w.WeChat.QueryRefund(ctx, outRefundNo)
	end(err)
	return r, err
}

func (w spanWeChat) UploadShipping(ctx context.Context, up wechat.ShippingUpload) error {
	ctx, end := w.span(ctx, "upload shipping", up.OutTradeNo)
	err := w.WeChat.UploadShipping(ctx, up)
	end(err)
	return err
}

func (w spanWeChat) QueryShipping(ctx context.Context, outTradeNo string) (wechat.ShippingOrder, error) {
	ctx, end := w.span(ctx, "query shipping", outTradeNo)
	o, err := w.WeChat.QueryShipping(ctx, outTradeNo)
	end(err)
	return o, err
}
